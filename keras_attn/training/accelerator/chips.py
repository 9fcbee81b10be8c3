"""The chips that a step can be compiled for, as their makers describe them."""

import dataclasses

from keras_attn.base import argument_checks

_GIGA = 10**9
_TERA = 10**12

# What must be importable to compile for each kind of chip.
_TPU_PACKAGES = ("jax", "libtpu")
_GPU_PACKAGES = ("jax", "jax_plugins.xla_cuda12", "nvidia.cuda_nvcc")


@dataclasses.dataclass(frozen=True)
class Chip:
    """What a compiler and an estimate of time need to know of a chip.

    Args:
        memory_bytes: Of the chip.
        bandwidth: Bytes per second between the chip and its memory.
        peak_flops: Of products in half precision, dense, per second.
        link_bandwidth: Bytes per second that it sends to the others of its
            host, all links together.
        topology: A host of TPUs in libtpu's words, and the environment's word
            for it; None for a GPU.
        gpu: What XLA's compiler asks a GPU about itself; None for a TPU.
    """

    memory_bytes: int
    bandwidth: float
    peak_flops: float
    link_bandwidth: float
    topology: tuple[str, str] | None = None
    gpu: dict | None = None

    @property
    def usable_bytes(self) -> int:
        """Memory for a step; the rest is the runtime's, and lost to gaps."""
        share = 0.92 if self.topology is None else 0.98
        return int(share * self.memory_bytes)

    @property
    def packages(self) -> tuple[str, ...]:
        """What must be importable to compile for it."""
        return _GPU_PACKAGES if self.topology is None else _TPU_PACKAGES

    def description(self) -> dict:
        """For the process that compiles, as JSON."""
        return {**dataclasses.asdict(self), "usable_bytes": self.usable_bytes}


# cloud.google.com/tpu/docs/system-architecture, which gives the bandwidth of
# the links for both directions together.
_V5E = Chip(
    memory_bytes=16 * 2**30,
    bandwidth=819 * _GIGA,
    peak_flops=197 * _TERA,
    link_bandwidth=100 * _GIGA,
    topology=("v5e:2x2", "v5litepod-4"),
)
# Data sheets of NVIDIA: A100 (SXM4, 40 GB), H100 (SXM5), L4 and T4.
CHIPS = {
    "v4": Chip(
        memory_bytes=32 * 2**30,
        bandwidth=1228 * _GIGA,
        peak_flops=275 * _TERA,
        link_bandwidth=150 * _GIGA,
        topology=("v4:2x2x1", "v4-8"),
    ),
    "v5e": _V5E,
    "v5e:2x2": _V5E,
    "v5p": Chip(
        memory_bytes=95 * 2**30,
        bandwidth=2765 * _GIGA,
        peak_flops=459 * _TERA,
        link_bandwidth=300 * _GIGA,
        topology=("v5p:2x2x1", "v5p-8"),
    ),
    "v6e": Chip(
        memory_bytes=32 * 2**30,
        bandwidth=1640 * _GIGA,
        peak_flops=918 * _TERA,
        link_bandwidth=224 * _GIGA,
        topology=("v6e:2x2", "v6e-4"),
    ),
    "a100": Chip(
        memory_bytes=42_331_013_120,
        bandwidth=1555 * _GIGA,
        peak_flops=312 * _TERA,
        link_bandwidth=300 * _GIGA,
        gpu={
            "name": "A100-SXM4-40GB",
            "compute_capability": (8, 0),
            "core_count": 108,
            "clock_rate_ghz": 1.41,
            "l2_cache_size": 41_943_040,
            "shared_memory_per_core": 167_936,
            "shared_memory_per_block_optin": 166_912,
        },
    ),
    "h100": Chip(
        memory_bytes=84_942_979_072,
        bandwidth=3350 * _GIGA,
        peak_flops=989 * _TERA,
        link_bandwidth=450 * _GIGA,
        gpu={
            "name": "NVIDIA H100 80GB HBM3",
            "compute_capability": (9, 0),
            "core_count": 132,
            "clock_rate_ghz": 1.98,
            "l2_cache_size": 52_428_800,
            "shared_memory_per_core": 233_472,
            "shared_memory_per_block_optin": 232_448,
        },
    ),
    "l4": Chip(
        memory_bytes=23_580_639_232,
        bandwidth=300 * _GIGA,
        peak_flops=121 * _TERA,
        link_bandwidth=32 * _GIGA,  # PCIe
        gpu={
            "name": "NVIDIA L4",
            "compute_capability": (8, 9),
            "core_count": 58,
            "clock_rate_ghz": 2.04,
            "l2_cache_size": 50_331_648,
            "shared_memory_per_core": 102_400,
            "shared_memory_per_block_optin": 101_376,
            "threads_per_core_limit": 1536,
            "fpus_per_core": 128,
        },
    ),
    "t4": Chip(
        memory_bytes=15_655_829_504,
        bandwidth=320 * _GIGA,
        peak_flops=65 * _TERA,
        link_bandwidth=16 * _GIGA,  # PCIe
        gpu={
            "name": "Tesla T4",
            "compute_capability": (7, 5),
            "core_count": 40,
            "clock_rate_ghz": 1.59,
            "l2_cache_size": 4_194_304,
            "shared_memory_per_core": 65_536,
            "shared_memory_per_block_optin": 65_536,
            "threads_per_core_limit": 1024,
        },
    ),
}


def find(target: str) -> Chip:
    """The chip of that name; a wrong one gets a list of them."""
    argument_checks.choice(target, "target", tuple(CHIPS))
    return CHIPS[target]
