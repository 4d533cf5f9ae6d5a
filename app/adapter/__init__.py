"""prometheus-adapter's configuration file as it is: its rules, what they list, and the metrics that they serve."""
