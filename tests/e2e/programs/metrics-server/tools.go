//go:build tools

// Package tools pins metrics-server, the peer whose released manifest and answers the tests compare with.
package tools

import _ "sigs.k8s.io/metrics-server/cmd/metrics-server"
