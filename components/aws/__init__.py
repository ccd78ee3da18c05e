"""Components of a region whose cluster the stack makes on AWS (docs/aws.md)."""
