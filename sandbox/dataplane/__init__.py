"""The data plane of the sandbox: what carries requests, as real as it can be without a GPU."""
