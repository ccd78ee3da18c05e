"""The storage of a region: classes, tenant, volumes, seeding."""
