"""What tests share, by the area that they test."""
