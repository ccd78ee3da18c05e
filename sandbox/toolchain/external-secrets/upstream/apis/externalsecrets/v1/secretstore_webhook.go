// Package v1: no webhook is registered, the sandbox runs none. Upstream's file needs an older
// controller-runtime than the one that fits the API server's own client libraries.
package v1
