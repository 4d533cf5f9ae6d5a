"""Where writing and reading meet: samples with a TTL, the rates made of them, and the published collections that routes serve."""
