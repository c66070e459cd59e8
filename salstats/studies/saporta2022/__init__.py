"""Every table and figure of Saporta et al. 2022 (doi:10.1038/s42256-022-00536-x) from a study's frames."""
