"""Views of plain data, by what they see; here of a whole plan."""
