"""Where what comes out goes: sinks and subscribers, each fed in order and apart from the others."""
