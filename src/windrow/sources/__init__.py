"""Where rows come from: Arrow tables go out, one stretch of rows after the other. Nothing here knows plans or Spark."""
