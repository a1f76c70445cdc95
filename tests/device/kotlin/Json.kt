// org.json as on Android, as far as docs/native.md uses it; like there, a number that is not finite is not JSON.
package org.json

class JSONException(message: String) : Exception(message)

class JSONObject(private val members: Map<String, Any?>) {
    constructor(text: String) : this(Parser(text).members())

    fun has(name: String) = name in members

    fun getString(name: String) = members.getValue(name) as String

    fun getJSONObject(name: String) = members.getValue(name) as JSONObject

    fun optJSONArray(name: String) = members[name] as? JSONArray

    override fun toString() =
        members.entries.joinToString(",", "{", "}") { (name, value) -> "${quote(name)}:${written(value)}" }

    companion object {
        fun quote(text: String): String = buildString {
            append('"')
            for (sign in text) {
                if (sign < ' ' || sign == '"' || sign == '\\') append("\\u%04x".format(sign.code)) else append(sign)
            }
            append('"')
        }
    }
}

class JSONArray(private val values: Collection<*>) {
    fun length() = values.size

    fun getDouble(index: Int) = values.elementAt(index) as Double

    override fun toString() = values.joinToString(",", "[", "]") { written(it) }
}

private fun written(value: Any?): String = when (value) {
    is String -> JSONObject.quote(value)
    is Double -> if (value.isFinite()) value.toString() else throw JSONException("Forbidden numeric value: $value")
    else -> value.toString()
}

private class Parser(private val text: String) {
    private var at = 0

    @Suppress("UNCHECKED_CAST")
    fun members(): Map<String, Any?> = fields()

    private fun value(): Any? = when (text[at]) {
        '{' -> JSONObject(fields())
        '[' -> JSONArray(several(']') { value() })
        '"' -> string()
        'n' -> { at += 4; null }
        else -> number()
    }

    private fun fields() = several('}') { string().also { at += 1 } to value() }.toMap()

    private fun <Each> several(end: Char, each: () -> Each): List<Each> {
        val found = mutableListOf<Each>()
        at += 1
        while (text[at] != end) {
            found += each()
            if (text[at] == ',') at += 1
        }
        at += 1
        return found
    }

    private fun string(): String = buildString {
        at += 1
        while (text[at] != '"') {
            if (text[at] != '\\') { append(text[at++]); continue }
            when (val sign = text[at + 1]) {
                'u' -> { append(text.substring(at + 2, at + 6).toInt(16).toChar()); at += 6 }
                'n' -> { append('\n'); at += 2 }
                else -> { append(sign); at += 2 }
            }
        }
        at += 1
    }

    private fun number(): Double {
        val from = at
        while (at < text.length && text[at] !in ",]}") at += 1
        return text.substring(from, at).toDouble()
    }
}
