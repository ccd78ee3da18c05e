"""What the pulumi_aws SDK says of a resource type: names, types, required properties, outputs."""
