from deeprotect.gateway.registration.addresses import TOKEN_BYTES, new_token, token_hash


def test_tokens_are_unguessable_and_fit_an_address():
    tokens = {new_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(len(token) >= 4 * TOKEN_BYTES / 3 for token in tokens)
    assert all(
        set(token) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") for token in tokens
    )


def test_a_hash_is_of_the_whole_token_and_takes_any_text():
    assert token_hash("a") != token_hash("b")
    assert len(token_hash("\ud800 no text at all")) == 32
