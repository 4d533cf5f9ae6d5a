"""The transport: uvicorn protocol with the caller's certificate, TLS settings, the dispatcher in front of the app, drain."""
