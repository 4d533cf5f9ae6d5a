"""What answers requests: ASGI endpoints made by factories, with no global state. docs/architecture.md has the way of a request."""
