"""The archive that the session puts in order. Made by code, for names that not every file system and tool can hold."""

import random
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent

LETTERS = {
    "01-anna.txt": (
        "Anna Lindqvist",
        "Göteborg, 3 May 1998",
        "Dear Nora,\n\nthe boxes have come. Not one glass is broken, and the recipe for the almond cake was between the "
        "plates.\nI bake it on Sunday. Greet your mother.\n\nAnna\n",
    ),
    "02-kenji.txt": (
        "健二",
        "京都、平成十年六月",
        "野良様\n\n先日はお手紙をありがとうございました。庭の紫陽花が咲き始め、雨の音を聞きながらこれを書いています。\n"
        "八月に伺う予定です。ｶﾒﾗを持って行きます。\n\n健二\n",
    ),
    "03-eleni.txt": (
        "Ελένη",
        "Θεσσαλονίκη, Ιούλιος 1998",
        "Αγαπητή Νόρα,\n\nτο καλοκαίρι εδώ είναι ζεστό. Το βιβλίο σου έφτασε χθες· το διάβασα όλη τη νύχτα.\n\n"
        "Με αγάπη, Ελένη\n",
    ),
    "04-yusuf.txt": (
        "يوسف",
        "القاهرة، ١٢ أغسطس ١٩٩٨",
        "عزيزتي نورا،\n\nوصلت الصور. أبي بخير ويسلّم عليك (PS: the 2nd photo is upside down!).\n\nيوسف\n",
    ),
    "05-miriam.txt": (
        "מרים",
        "חיפה, ספטמבר 1998",
        "נורה היקרה,\n\nהגן פורח. שלחתי לך זרעים במעטפה נפרדת – 3 שקיות.\n\nמרים\n",
    ),
    "06-asha.txt": (
        "आशा",
        "पुणे, अक्टूबर १९९८",
        "प्रिय नोरा,\n\nबारिश थम गई है। मैंने तुम्हारी कविता का अनुवाद किया है, अगली चिट्ठी में भेजूँगी।\n\nआशा\n",
    ),
    "07-zoe.txt": (
        "Zoë",
        "Cork, November 1998",
        "Nora!!! 🎉🎉\n\nWe did it, the shop opens on Friday. Bring the whole family 👩‍👩‍👧‍👦 and wear something warm ❄️.\n\nZoë\n",
    ),
    "08-minh.txt": (
        "Minh",
        "Huế, tháng 12 năm 1998",
        "Chị Nora thân mến,\n\nTrời lạnh và mưa suốt tuần. Em gửi chị bức tranh vẽ cầu Trường Tiền.\n\nMinh\n",
    ),
    "09-sante\u0301.txt": (
        "Sante\u0301",
        "Ravenna, gennaio 1999",
        "Cara Nora,\n\nil tetto e\u0300 finito. Perche\u0301 non vieni a Pasqua? La stanza e\u0300 pronta.\n\nSante\u0301\n",
    ),
    "10 with blanks.txt": (
        "(unsigned)",
        "no date",
        'Madam,\n\nyour order no. 4711 ("Tea, 2 × 250 g") was sent on 1999-02-08.\n\tTotal:\t£ 18.40\n\nyours faithfully\n',
    ),
}


def make(root: Path) -> None:
    folder = root / "archive"
    for name in ("letters", "logs", "old", "attic"):
        (folder / name).mkdir(parents=True)
    for name in ("PLAN.md", "check.sh"):
        shutil.copy(HERE / "files" / name, folder / name)
    for name, (who, where, text) in LETTERS.items():
        (folder / "letters" / name).write_text(f"From: {who}\nWhere: {where}\n\n{text}", encoding="utf-8")
    (folder / "letters" / "11-blank.txt").touch()
    for number in range(64):
        (folder / "old" / f"scan-{number:03}.txt").write_text(f"page {number}\n")
    (folder / "attic" / "style.css").write_text("body{margin:0}h1,h2,h3{font:inherit}" * 40 + "\n")
    (folder / "logs" / "access.log").write_text("".join(log_lines()))


def log_lines() -> list[str]:
    dice = random.Random(3)
    paths = ["/", "/letters", "/letters/02", "/attic", "/search?q=almond", "/feed.xml"]
    lines = []
    for number in range(900):
        status = 200 if dice.random() < 0.93 else dice.choice([404, 500])
        day, minute, second = 1 + number // 60, number // 2 % 60, number * 7 % 60
        path, size = dice.choice(paths), dice.randint(120, 9000)
        lines.append(f"1999-02-{day:02} 00:{minute:02}:{second:02} GET {path} {status} {size}\n")
    return lines
