"""What a region on AWS is made of: names, networks, policies, node groups. Pure."""
