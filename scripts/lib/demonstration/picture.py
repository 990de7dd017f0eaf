"""A picture as large and irregular as a phone's photograph."""

import io
import random

from PIL import Image, ImageDraw, ImageFilter

SIZE = (3264, 2448)  # 8 megapixels


def photograph(at_least_bytes: int) -> bytes:
    """A JPEG of hills under an evening sky, with a camera's noise; never the same twice."""
    width, height = SIZE
    sky = Image.merge("RGB", [
        Image.linear_gradient("L").resize(SIZE).point(lambda x, low=low, high=high: low + x * (high - low) // 255)
        for low, high in ((50, 250), (90, 170), (160, 120))])
    draw = ImageDraw.Draw(sky)
    sun = (random.randint(width // 4, 3 * width // 4), height // 2)
    draw.ellipse((sun[0] - 160, sun[1] - 160, sun[0] + 160, sun[1] + 160), fill=(255, 236, 190))
    for layer in range(5):
        line = [(0, height)]
        level = height * (5 + layer) // 10
        for x in range(0, width + 64, 64):
            level += random.randint(-40, 40)
            line.append((x, level))
        line.append((width, height))
        draw.polygon(line, fill=(70 - 12 * layer, 80 - 10 * layer, 90 - 16 * layer))
    image = sky.filter(ImageFilter.GaussianBlur(2))
    grain = Image.merge("RGB", [Image.effect_noise(SIZE, 40) for _ in range(3)])
    image = Image.blend(image, grain, 0.18)
    for quality in (85, 92, 97):
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        if buffer.tell() >= at_least_bytes:
            break
    return buffer.getvalue()
