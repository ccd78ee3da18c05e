"""EKS clusters as control planes of the sandbox, and drills on them."""
