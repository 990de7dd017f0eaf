extension JSONWriter {
    /// Writes a member whose value is a string.
    public mutating func field(_ name: JSONKey, text: String) {
        key(name)
        value(text: text)
    }

    /// Writes a member whose value is a string, unless it is nil.
    public mutating func field(_ name: JSONKey, text: String?) {
        if let text { field(name, text: text) }
    }

    /// Writes a member whose value is a string, from UTF-8 as stored in a database column.
    public mutating func field(_ name: JSONKey, text: borrowing RawSpan) {
        key(name)
        value(text: text)
    }

    /// Writes a member whose value is an identifier, unless it is nil.
    public mutating func field(_ name: JSONKey, _ identifier: (some CasePreservingIdentifier)?) {
        if let identifier { field(name, text: identifier.rawValue) }
    }

    /// Writes a member whose value is a typed number, unless it is nil.
    public mutating func field(_ name: JSONKey, _ number: (some WireInteger)?) {
        guard let number else { return }
        key(name)
        value(number.rawValue)
    }

    /// Writes a member whose value is an integer.
    public mutating func field(_ name: JSONKey, _ number: some FixedWidthInteger & SignedInteger) {
        key(name)
        value(number)
    }

    /// Writes a member whose value is `true` or `false`.
    public mutating func field(_ name: JSONKey, _ isTrue: Bool) {
        key(name)
        value(isTrue)
    }

    /// Writes a member whose value is a date, unless it is nil.
    public mutating func field(_ name: JSONKey, _ date: WireDate?) {
        guard let date else { return }
        key(name)
        value(date)
    }

    /// Writes a member whose value is a word of a closed set, unless it is nil.
    public mutating func field<Word: RawRepresentable<String>>(_ name: JSONKey, _ word: Word?) {
        if let word { field(name, text: word.rawValue) }
    }
}
