"""AWS: data, identity, machines, networks, pools, trust."""
