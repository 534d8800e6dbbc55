"""Sentences of coding agents in eighteen languages, names and files, for the tenth set."""

from __future__ import annotations

_VOICES = """
English: Let me look at the failing test first.|The fixture returns an empty list.|I will check where it is created.|The import at the top of the file is wrong.|I need to fix the import.|Let me run the tests again.
German: Ich sehe mir zuerst den fehlgeschlagenen Test an.|Die Vorrichtung gibt eine leere Liste zurück.|Ich prüfe, wo sie angelegt wird.|Der Import am Anfang der Datei ist falsch.|Ich muss den Import berichtigen.|Ich führe die Tests noch einmal aus.
Turkish: Önce başarısız olan teste bakayım.|Hazırlık boş bir liste döndürüyor.|Nerede oluşturulduğunu kontrol edeceğim.|Dosyanın başındaki içe aktarma yanlış.|İçe aktarmayı düzeltmem gerekiyor.|Testleri yeniden çalıştırayım.
Vietnamese: Trước tiên tôi xem bài kiểm thử bị lỗi.|Dữ liệu mẫu trả về một danh sách rỗng.|Tôi sẽ kiểm tra nơi nó được tạo ra.|Câu lệnh nhập ở đầu tệp bị sai.|Tôi cần sửa câu lệnh nhập.|Tôi sẽ chạy lại các bài kiểm thử.
Russian: Сначала посмотрю на упавший тест.|Заготовка возвращает пустой список.|Проверю, где она создаётся.|Импорт в начале файла неверный.|Нужно исправить импорт.|Запущу тесты ещё раз.
Greek: Θα δω πρώτα το τεστ που αποτυγχάνει.|Το δείγμα επιστρέφει μια κενή λίστα.|Θα ελέγξω πού δημιουργείται.|Η εισαγωγή στην αρχή του αρχείου είναι λάθος.|Πρέπει να διορθώσω την εισαγωγή.|Θα τρέξω ξανά τα τεστ.
Arabic: سأنظر أولاً إلى الاختبار الفاشل.|تعيد البيانات قائمة فارغة.|سأتحقق من مكان إنشائها.|الاستيراد في أعلى الملف خاطئ.|يجب أن أصلح الاستيراد.|سأشغل الاختبارات مرة أخرى.
Hebrew: אסתכל קודם על הבדיקה שנכשלה.|הנתונים מחזירים רשימה ריקה.|אבדוק היכן היא נוצרת.|הייבוא בראש הקובץ שגוי.|עליי לתקן את הייבוא.|אריץ שוב את הבדיקות.
Hindi: पहले मैं असफल परीक्षण को देखता हूँ।|नमूना एक खाली सूची लौटाता है।|मैं जाँचूँगा कि वह कहाँ बनती है।|फ़ाइल के शुरू में आयात ग़लत है।|मुझे आयात को ठीक करना होगा।|मैं परीक्षण फिर से चलाता हूँ।
Bengali: প্রথমে আমি ব্যর্থ পরীক্ষাটি দেখি।|নমুনাটি একটি খালি তালিকা ফেরত দেয়।|এটি কোথায় তৈরি হয় তা আমি যাচাই করব।|ফাইলের শুরুতে আমদানি ভুল আছে।|আমাকে আমদানিটি ঠিক করতে হবে।|আমি আবার পরীক্ষাগুলি চালাই।
Tamil: முதலில் தோல்வியடைந்த சோதனையைப் பார்க்கிறேன்.|மாதிரி ஒரு காலியான பட்டியலைத் தருகிறது.|அது எங்கே உருவாகிறது என்று சரிபார்க்கிறேன்.|கோப்பின் தொடக்கத்தில் உள்ள இறக்குமதி தவறு.|இறக்குமதியை நான் சரிசெய்ய வேண்டும்.|சோதனைகளை மீண்டும் இயக்குகிறேன்.
Thai: ก่อนอื่นขอดูการทดสอบที่ล้มเหลว|ข้อมูลตัวอย่างคืนค่ารายการว่าง|จะตรวจสอบว่าสร้างขึ้นที่ไหน|การนำเข้าที่ต้นไฟล์ไม่ถูกต้อง|ต้องแก้ไขการนำเข้า|จะรันการทดสอบอีกครั้ง
Georgian: ჯერ ვნახავ ჩავარდნილ ტესტს.|ნიმუში აბრუნებს ცარიელ სიას.|შევამოწმებ, სად იქმნება ის.|ფაილის თავში იმპორტი არასწორია.|იმპორტი უნდა გავასწორო.|ტესტებს კიდევ ერთხელ გავუშვებ.
Armenian: Նախ կնայեմ ձախողված թեստը։|Նմուշը վերադարձնում է դատարկ ցուցակ։|Կստուգեմ, թե որտեղ է այն ստեղծվում։|Ֆայլի սկզբի ներմուծումը սխալ է։|Պետք է ուղղեմ ներմուծումը։|Նորից կգործարկեմ թեստերը։
Amharic: መጀመሪያ ያልተሳካውን ፈተና እመለከታለሁ።|ናሙናው ባዶ ዝርዝር ይመልሳል።|የት እንደተፈጠረ አረጋግጣለሁ።|በፋይሉ መጀመሪያ ያለው ማስገቢያ ስህተት ነው።|ማስገቢያውን ማስተካከል አለብኝ።|ፈተናዎቹን እንደገና አሄዳለሁ።
Korean: 먼저 실패한 테스트를 살펴보겠습니다.|픽스처가 빈 목록을 반환합니다.|어디에서 만들어지는지 확인하겠습니다.|파일 맨 위의 임포트가 잘못되었습니다.|임포트를 고쳐야 합니다.|테스트를 다시 실행하겠습니다.
Japanese: まず失敗しているテストを確認します。|フィクスチャは空のリストを返しています。|どこで作られているかを調べます。|ファイルの先頭のインポートが間違っています。|インポートを修正する必要があります。|もう一度テストを実行します。
Chinese: 我先看一下失败的测试。|夹具返回了一个空列表。|我来检查它是在哪里创建的。|文件开头的导入是错误的。|我需要修正这个导入。|我再运行一次测试。
"""
VOICES: dict[str, list[str]] = {
    name: said.split("|") for name, said in (line.split(": ", 1) for line in _VOICES.strip().splitlines())
}
NAMES = (
    "parse_header load_session merge_rows split_path render_page fetch_user encode_token decode_frame verify_mail resolve_host "
    "commit_batch flush_queue trim_log clone_tree order_total stock_level send_invoice read_meter draw_chart pick_theme "
    "open_socket close_file list_rooms count_votes mark_read hash_block sign_url join_room rank_hits plan_route"
).split()
FILES = (
    "src/server/session.ts src/api/orders.py lib/queue/worker.rb internal/store/index.go app/models/invoice.py tests/test_mail.py "
    "web/components/Header.tsx src/render/frame.rs cmd/agent/main.go packages/core/src/tokens.ts docs/setup.md Makefile "
    "src/main/java/shop/Cart.java config/settings.toml scripts/release.sh lib/parser/lexer.c src/utils/dates.js app/views/home.py"
).split()
VERBS = "add move rename split guard cache log test drop merge document inline retry validate sort escape pin trim batch stream".split()
THINGS = (
    "the login form|the mail queue|the price column|the retry loop|the index of orders|the upload limit|the session cookie|the error page|"
    "the CSV export|the dark theme|the search box|the health check|the worker pool|the rate limit|the audit trail|the password reset|"
    "the build cache|the date picker|the invoice number|the stock count|the webhook|the feature flag|the avatar|the sitemap|the footer"
).split("|")
WHY = (
    "so that old clients keep working|because the lock was held too long|after the review of March|to close a leak of handles|"
    "as the standard asks|for tenants without a region|where the header is missing|since the driver dropped it|"
    "before the next release|in the same transaction|behind a flag for now|with a test for the empty case|"
    "as agreed with the support team|to save a query per row|without changing the wire format|only on Linux|"
    "when the token has expired|unless the user opted out|at most once a minute|in every time zone"
).split("|")
WHO = "Ada Ben Chidi Dana Emre Farah Goran Hana Ines Jun Kofi Lena Mei Nils Omar Priya Quinn Rosa Sven Tomoko".split()
PLACES = "Oslo Lagos Lima Kyoto Perth Quito Riga Sofia Tunis Utrecht Vienna Warsaw Xi'an York Zagreb Accra Bergen Cork Dakar Essen".split()
SAINTS = "Agnes Albert Ambrose Andrew Anne Anthony Barbara Basil Benedict Bernard Blaise Bridget Catherine Cecilia Clare Cyril Dominic".split()
