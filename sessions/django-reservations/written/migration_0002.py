from django.db import migrations, models


def renumber(apps, schema_editor):
    """Give every table but the first of a number the next number that is free."""
    Table = apps.get_model("floor", "Table")
    used = set(Table.objects.values_list("number", flat=True))
    seen = set()
    for table in Table.objects.order_by("number", "pk"):
        if table.number in seen:
            table.number = next(number for number in range(1, 1000) if number not in used)
            table.save(update_fields=["number"])
            used.add(table.number)
        seen.add(table.number)


class Migration(migrations.Migration):
    dependencies = [("floor", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="table",
            name="in_service",
            field=models.BooleanField(default=True, help_text="Nobody is seated at a table out of service."),
        ),
        migrations.RunPython(renumber, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="table",
            name="number",
            field=models.PositiveSmallIntegerField(
                help_text="As it stands on the brass plate; unique in the whole house.", unique=True
            ),
        ),
    ]
