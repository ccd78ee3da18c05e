"""The seeding program: from S3-compatible storage onto the models volume.

Owns `<target>/<revision>/`, `<target>/<revision>.partial/` and the link `<target>/current`. Does
not choose revisions.

What would surprise: sums are taken by reading back what was written, behind the download, so a
volume that stores wrong bytes is noticed too. Locking uses no fcntl and compares no clocks:
neither can be trusted over NFS, where several nodes share the volume. In a pod this folder is one
ConfigMap, mounted below the same package names as here.
"""
