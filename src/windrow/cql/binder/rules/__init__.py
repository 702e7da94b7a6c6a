"""Rules that a whole query must keep, beyond those of its parts."""

from windrow.cql.binder.rules.depth import check_depth
from windrow.cql.binder.rules.frequent import check_frequent
from windrow.cql.binder.rules.slides import check_slides
from windrow.cql.binder.rules.tables import check_tables

# In the order in which a query is refused; the depth first, because the others walk the plan.
RULES = (
    check_depth,
    check_slides,
    check_tables,
    check_frequent,
)

__all__ = ["RULES"]
