package kotlinx.coroutines.guava

import java.util.concurrent.ExecutionException
import java.util.concurrent.Future

suspend fun <Value> Future<Value>.await(): Value =
    try {
        get()
    } catch (error: ExecutionException) {
        throw error.cause!!
    }
