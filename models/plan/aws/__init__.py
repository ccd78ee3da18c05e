"""What pools and pods of a plan become on AWS, and what stands against it."""
