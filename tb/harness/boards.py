"""The boards' tops: what each is made of, and what stands in a bench for what its user's tools bring."""

from dataclasses import dataclass

from harness import hbm


@dataclass(frozen=True)
class Top:
    #: Its file list.
    files: str
    #: AWS' shell watches HBM.
    monitor: bool = False
    #: Modules of the vendor's, beside HBM.
    vendors: tuple = ()

    def models(self):
        return [*hbm.files(self.monitor), *self.vendors]

    @property
    def defines(self):
        return ["-DWIREKV_HBM_MONITOR"] * self.monitor


TOPS = {
    "cl_wirekv": Top("boards/aws-f2/cl_wirekv.f", True, ("tb/boards/sh_ddr.sv",)),
    "wirekv_250mhz": Top("boards/opennic/wirekv_250mhz.f"),
}
