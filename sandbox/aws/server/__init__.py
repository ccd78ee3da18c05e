"""moto's server with what it lacks for EKS, an echo for repeated creations, and throttling."""
