"""Words of eight scripts, and lines of them, for the sound texts of the fifth set."""

from __future__ import annotations

import random
from collections.abc import Callable

_WORDS = """
Arabic: باب قمر نهر كتاب طريق مدينة شجرة سفينة ملح زيت حجر ريح نار ماء بيت قلم سوق جبل بحر خبز ليل صباح مفتاح جسر حديقة
Hindi: दरवाज़ा चाँद नदी किताब रास्ता शहर पेड़ जहाज़ नमक तेल पत्थर हवा आग पानी घर कलम बाज़ार पहाड़ समुद्र रोटी रात सुबह चाबी पुल बगीचा
Thai: ประตู พระจันทร์ แม่น้ำ หนังสือ ถนน เมือง ต้นไม้ เรือ เกลือ น้ำมัน หิน ลม ไฟ น้ำ บ้าน ปากกา ตลาด ภูเขา ทะเล ขนมปัง กลางคืน เช้า กุญแจ สะพาน สวน
Korean: 문 달 강 책 길 도시 나무 배 소금 기름 돌 바람 불 물 집 펜 시장 산 바다 빵 밤 아침 열쇠 다리 정원
Chinese: 门 月亮 河 书 路 城市 树 船 盐 油 石头 风 火 水 房子 笔 市场 山 海 面包 夜晚 早晨 钥匙 桥 花园
Russian: дверь луна река книга дорога город дерево корабль соль масло камень ветер огонь вода дом ручка рынок гора море хлеб ночь утро ключ мост сад
English: door moon river book road city tree ship salt oil stone wind fire water house pen market hill sea bread night morning key bridge garden
Emoji: 🚪 🌙 🏞️ 📖 🛣️ 🏙️ 🌳 🚢 🧂 🛢️ 🪨 💨 🔥 💧 🏠 🖊️ 🛒 ⛰️ 🌊 🍞 🌃 🌅 🔑 🌉 🌷
"""
WORDS: dict[str, list[str]] = {
    script: words.split() for script, words in (line.split(": ") for line in _WORDS.strip().splitlines())
}
_NAMES = """
parse load merge split render fetch encode decode verify resolve commit flush trim clone
"""
NAMES = _NAMES.split()


def lines(rng: random.Random, say: Callable[[int], str], least: int = 14, most: int = 50) -> str:
    return "".join(say(n) for n in range(1, rng.randint(least, most) + 1))
