"""EKS: clusters, node groups, access, add-ons, machines."""
