"""What components share: custom resources, guards, waves, suspension."""
