"""One model's engine: workload, monitor, autoscaling."""
