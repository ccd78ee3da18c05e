// Package register names the providers that are built in: the two that the platform offers.
// Upstream's file names forty, among them modules that no checksum database knows.
package register

import (
	_ "github.com/external-secrets/external-secrets/pkg/provider/aws"
	_ "github.com/external-secrets/external-secrets/pkg/provider/kubernetes"
)
