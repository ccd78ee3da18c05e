"""The `triplane` command. Says what the models compute; decides nothing, and imports no Pulumi."""
