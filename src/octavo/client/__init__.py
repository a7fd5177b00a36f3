"""Producers and consumers in the process that owns the log directories; `log_dir.LogDir` creates them."""
