"""The counters that the DCGM exporter reads, as its CSV: field, Prometheus type, help.

Only what dashboards, alerts and autoscaling of this platform read; each costs a field watch on
every card. Memory is in MiB, power in watts, temperatures in degrees Celsius. Field names are
DCGM's own (NVIDIA/dcgm-exporter, etc/*.csv).
"""

from typing import Final

_FIELDS: Final = (
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock (MHz)."),
    ("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock (MHz)."),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (C)."),
    ("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (C)."),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (W)."),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Energy since boot (mJ)."),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilisation (%)."),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilisation (%)."),
    ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (MiB)."),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (MiB)."),
    ("DCGM_FI_DEV_FB_RESERVED", "gauge", "Framebuffer memory kept by the driver (MiB)."),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Code of the last XID error."),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe retries."),
    ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "NVLink bandwidth counters over all lanes."),
    ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped, uncorrectable errors."),
    ("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped, correctable errors."),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed."),
    ("DCGM_FI_DRIVER_VERSION", "label", "Driver version."),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active."),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor pipe is active."),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Ratio of cycles the memory interface is active."),
)

COUNTERS: Final = "".join(f"{name}, {kind}, {text}\n" for name, kind, text in _FIELDS)
"""The file that the exporter reads (`dcgm-metrics.csv` in its ConfigMap)."""
