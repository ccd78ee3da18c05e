"""Resources on AWS, and the IAM documents inside them."""
