"""Requests to answers: negotiation, resources, discovery, OpenAPI, health. Every error becomes a Status in problems.py."""
