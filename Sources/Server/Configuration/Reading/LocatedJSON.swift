/// A JSON value with its position, so that a whole file can be read before its contents are validated.
struct LocatedJSON {
    indirect enum Value {
        case null
        case bool(Bool)
        /// The number as written.
        case number(String)
        case string(String)
        case array([LocatedJSON])
        /// In the order of the file; a name may occur twice.
        case object([Member])
    }

    struct Member {
        var name: String
        /// The position of the name.
        var place: TextPlace
        /// The start of the name's text, in Unicode scalars from the beginning of the file.
        var start: Int
        var value: LocatedJSON
    }

    var value: Value
    var place: TextPlace
    /// The range of its text, in Unicode scalars from the beginning of the file.
    var extent: Range<Int>
}
