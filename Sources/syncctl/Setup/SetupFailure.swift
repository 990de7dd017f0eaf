/// Why a step of setup failed, in a sentence without secrets.
struct SetupFailure: Error {
    var sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}
