"""What guests type in. The rules are in `services`; a form only turns text into values."""

from django import forms
from django.utils import timezone

from core.times import at
from reservations import services


class WhenForm(forms.Form):
    """The first step: which day, how many."""

    day = forms.DateField(widget=forms.DateInput(attrs={"type": "date"}))
    party = forms.IntegerField(
        min_value=1,
        label="Guests",
        initial=2,
        widget=forms.NumberInput(attrs={"max": services.LARGEST_PARTY}),
    )


class WhoForm(WhenForm):
    """The second step: which of the times on offer, and for whom."""

    clock = forms.TimeField(label="Time", widget=forms.RadioSelect, input_formats=["%H:%M"])
    name = forms.CharField(max_length=80)
    phone = forms.CharField(max_length=30, widget=forms.TextInput(attrs={"type": "tel"}))
    note = forms.CharField(max_length=200, required=False, label="Anything we should know?")

    def offer(self, moments):
        choices = [(f"{moment:%H:%M}", f"{moment:%H:%M}") for moment in map(timezone.localtime, moments)]
        self.fields["clock"].widget.choices = choices

    @property
    def begin(self):
        return at(self.cleaned_data["day"], self.cleaned_data["clock"])
