"""Who is calling, and may they: front proxy, client certificate, bearer token; then SubjectAccessReview. Fails closed."""
