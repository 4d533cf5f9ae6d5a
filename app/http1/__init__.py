"""HTTP/1.1 as a client speaks it: connections that are kept, requests over them, responses as they arrive. It knows no Kubernetes."""
