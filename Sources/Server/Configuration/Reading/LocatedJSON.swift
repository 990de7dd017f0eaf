/// A JSON value that knows its position, so that a whole file can be read before anything in it is validated.
struct LocatedJSON {
    indirect enum Value {
        case null
        case bool(Bool)
        /// As it is written.
        case number(String)
        case string(String)
        case array([LocatedJSON])
        /// In the file's order; a name may occur twice.
        case object([Member])
    }

    struct Member {
        var name: String
        /// Where the name stands.
        var place: TextPlace
        /// Where the name's text begins, in Unicode scalars from the beginning of the file.
        var start: Int
        var value: LocatedJSON
    }

    var value: Value
    var place: TextPlace
    /// Where its text is, in Unicode scalars from the beginning of the file.
    var extent: Range<Int>
}
