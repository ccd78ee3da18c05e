// In the place of a generated file that refers to the Go type of every kind of Kubernetes: two thirds
// of what would be compiled for the provider, which has no use for the types. It is called where the
// provider's own components (ConfigGroup, ConfigFile, Chart, Directory) register what they hold.

package v2

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RegisterResource registers an object under the same type as the generated code does.
func RegisterResource(
	ctx *pulumi.Context, apiVersion, kind, name string, props pulumi.Input, opts ...pulumi.ResourceOption,
) (pulumi.CustomResource, error) {
	if !strings.Contains(apiVersion, "/") {
		apiVersion = "core/" + apiVersion
	}
	var made pulumi.CustomResourceState
	err := ctx.RegisterResource("kubernetes:"+apiVersion+":"+kind, name, props, &made, opts...)
	if err != nil {
		return nil, err
	}
	return &made, nil
}
