#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Pillow: scale the JPEGs of a folder into a box, as its documentation says for
thumbnails, turned upright and without metadata.

usage: inprocess.py DIR BOX QUALITY OUT WAY
  WAY  draft    the decoder shrinks to at least the box, then thumbnail()
       default  thumbnail(), whose decoder shrinks to at least twice the box
       full     a full decode, then thumbnail() by Lanczos
"""
import os
import sys

from PIL import Image, ImageOps


def scale(image, box, way):
    if way == "draft":
        image.draft("RGB", (box, box))
    if way == "full":
        image.thumbnail((box, box), Image.Resampling.LANCZOS,
                        reducing_gap=None)
    else:
        image.thumbnail((box, box))
    return ImageOps.exif_transpose(image)


def main(folder, box, quality, out, way):
    for name in sorted(os.listdir(folder)):
        with Image.open(os.path.join(folder, name)) as image:
            scale(image, int(box), way).convert("RGB").save(
                os.path.join(out, name), "JPEG", quality=int(quality),
                subsampling="4:2:0")


if len(sys.argv) != 6 or sys.argv[5] not in ("draft", "default", "full"):
    sys.exit(__doc__)
main(*sys.argv[1:])
