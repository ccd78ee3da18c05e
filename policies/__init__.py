"""The CrossGuard pack: rules as plain functions over plain data, and the frame that runs them."""
