//go:build tools

// Package tools pins prometheus-adapter, the peer whose discovery, answers and cost the tests and benchmarks compare with.
package tools

import _ "sigs.k8s.io/prometheus-adapter/cmd/adapter"
