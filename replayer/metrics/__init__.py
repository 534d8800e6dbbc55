"""One definition per figure, and what is concluded from them."""
